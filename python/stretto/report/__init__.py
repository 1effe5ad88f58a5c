"""`stretto report`: one page of HTML of a machine, and of programs that ran on it."""
