package shepherd

// Main is a shepherd's whole life; it does not return before that is over, and returns the
// process's exit status. cmd/doze calls it first thing where os.Args[1] is "shepherd".
func Main() int { return 1 }
