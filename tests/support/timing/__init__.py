"""What benchmarks are made of: cases, contenders, their times, and the records of runs."""
