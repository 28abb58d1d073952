package config

import "graced/internal/plan"

// preset finds the platform and takes from it what nobody set.
func (l *loader) preset() {
	s := &l.cfg.Spec
	if name := l.platform.V; l.platform.Set() && name != auto {
		s.Platform, _ = plan.PlatformByName(name)
	} else {
		s.Platform = plan.DetectPlatform(l.getenv, l.in.Exists, l.in.PID)
		l.row("platform").without = s.Platform.Name + ", found out by the environment"
	}
	from := plan.Source{Kind: plan.ByPreset, Name: s.Platform.Name}
	if s.Platform.Grace > 0 && !s.Grace.Set() {
		s.Grace = plan.Given(s.Platform.Grace, from)
	}
	if s.Platform.Delay > 0 && !s.Delay.Set() {
		s.Delay = plan.Given(plan.Delay{For: s.Platform.Delay}, from)
	}
	if s.Platform.Report != "" && !l.cfg.Report.Set() {
		l.cfg.Report = plan.Given(s.Platform.Report, from)
	}
}
