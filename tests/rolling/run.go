package main

import (
	"fmt"
	"path/filepath"
	"time"
)

const (
	ahead = 2 * time.Second // of load before the first replace
	after = 2 * time.Second // and after the last
)

// run measures one piece: the servers and the balancer come up, a control load
// without a replace, then the load with the replaces.
func run(j *job) (*Record, error) {
	s := &j.Spec
	record := newRecord(j)
	programs := filepath.Join(j.dir(), "apps")
	if err := unpackApps(programs); err != nil {
		return nil, err
	}
	var servers []*server // they end with this process
	for i := range s.Servers {
		srv, err := newServer(j, i, programs)
		if err != nil {
			return nil, err
		}
		if err := srv.start(); err != nil {
			return nil, err
		}
		servers = append(servers, srv)
	}
	if s.Front == "none" {
		return record, replaceAll(record, nil, servers)
	}
	front, err := startBalancer(j, servers)
	if err != nil {
		return nil, err
	}
	defer front.stop()
	time.Sleep(time.Duration(s.Rise)*s.Inter + 500*time.Millisecond)

	control, err := startLoad(s, front)
	if err != nil {
		return nil, err
	}
	time.Sleep(s.Control)
	record.Control = sum(control, control.finish(), nil)

	began := time.Now()
	roll, err := startLoad(s, front)
	if err != nil {
		return nil, err
	}
	time.Sleep(ahead)
	if err := replaceAll(record, front, servers); err != nil {
		roll.finish()
		return nil, err
	}
	time.Sleep(after)
	results := roll.finish()
	record.Roll = sum(roll, results, record)
	record.judge()
	record.explain(results, front.history(), began)
	return record, nil
}

// replaceAll replaces the servers one after the other.
func replaceAll(record *Record, front balancer, servers []*server) error {
	for _, srv := range servers[:record.Spec.Replaced] {
		r, err := replace(front, srv)
		if err != nil {
			return err
		}
		record.Replaced = append(record.Replaced, r)
		time.Sleep(record.Spec.Settle)
	}
	return nil
}

// replace does to one server as a platform does.
func replace(front balancer, srv *server) (*Replace, error) {
	s := &srv.job.Spec
	in := inits[s.Init]
	r := &Replace{Server: srv.name(), begin: time.Now()}
	failed := make(chan error, 1)
	if in.deregister > 0 && front != nil {
		time.AfterFunc(in.deregister, func() { failed <- front.setOut(srv.index, true) })
	}
	r.Killed = srv.now.stop(stopSignal, s.Grace)
	r.end = time.Now()
	r.Stop = seconds(r.end.Sub(r.begin))
	r.Exit = srv.now.exit()
	r.read(srv.now.log)
	time.Sleep(s.Boot)
	started := time.Now()
	if err := srv.start(); err != nil {
		return nil, err
	}
	if front == nil {
		return r, nil
	}
	if in.deregister > 0 {
		if err := <-failed; err != nil {
			return nil, fmt.Errorf("taking %s out: %w", srv.name(), err)
		}
		if err := front.setOut(srv.index, false); err != nil {
			return nil, fmt.Errorf("taking %s in: %w", srv.name(), err)
		}
	}
	if s.Front != "nginx-passive" {
		if err := front.history().waitUp(s, srv.name(), started); err != nil {
			return nil, err
		}
	}
	r.Total = seconds(time.Since(r.begin))
	if down, ok := front.history().first(srv.name(), false, r.begin); ok {
		r.Down, r.DownWhy = seconds(down.at.Sub(r.begin)), down.Why
	}
	return r, nil
}
