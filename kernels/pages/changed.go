package pages

// A ChangedError says that somebody wrote to a file whose numbers were in use.
type ChangedError struct{ Name string }

func (e *ChangedError) Error() string { return e.Name + ": changed while it was in use" }
