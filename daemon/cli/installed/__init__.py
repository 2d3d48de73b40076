"""Which service is installed on this machine, and what does it run with?"""
