package jobs

import "doze/idle"

// Diagnostic is one thing that is wrong with a job, in words for the person who wrote it.
type Diagnostic struct {
	Group   idle.GroupID // Group.Group "": the whole job; the zero ID: the whole file
	Path    string       // `group "web" > scaling > policy > doze > idle_afer`
	Problem string       // what is wrong, `unknown key`
	Hint    string       // what to do about it, "" when there is nothing to say
	Pos     string       // file:line where that is known, "" otherwise
}

// Diagnostics are everything that is wrong, in the order of the file. Empty: nothing is.
type Diagnostics []Diagnostic

// Error returns all of them, a line each; "" when there are none.
func (ds Diagnostics) Error() string { panic("skeleton") }
