package idle

// GroupID names the unit that sleeps and wakes.
type GroupID struct {
	Namespace, Job, Group string
}

// String returns namespace/job/group, for people; a job's name may itself hold slashes.
func (id GroupID) String() string { return id.Namespace + "/" + id.Job + "/" + id.Group }
