"""What does `soul doctor` check? Each check is a function that returns findings and changes nothing."""
