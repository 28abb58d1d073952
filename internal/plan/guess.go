package plan

// Guess is what the main process will be if its command names it; see guess.
func (p *Plan) Guess() Identity { return p.Processes[p.Main].guess() }
