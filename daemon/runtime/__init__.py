"""What keeps work moving? Dispatcher, conversation, cycle, courier, scheduler and background jobs."""
