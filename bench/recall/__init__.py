"""What surfaces of long talks: LoCoMo's questions with the turns that answer them, and paraphrases of our own."""
