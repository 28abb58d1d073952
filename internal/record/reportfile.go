package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// WriteReport writes r to the file at path, as one line, in place: a
// termination log is a bind mount, which can be neither renamed nor removed.
// An earlier report of graced is overwritten. Without create the file must
// exist: a platform that wants a report makes the file, on another one it would
// be litter.
//
// It is an error if path is no regular file, if it is where graced's own
// standard streams go, or if it holds anything that graced did not write: that
// is the program's last word, which counts for more. A file system that does
// not answer (NFS) makes WriteReport wait, so it must not be called where that
// matters.
func WriteReport(path string, create bool, r Report) error {
	f, err := openReport(path, create)
	if err != nil {
		return fmt.Errorf("cannot write the report to %q: %w", path, err)
	}
	err = replaceReport(f, append(r.JSON(), '\n'))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("cannot write the report to %q: %w", path, bare(err))
	}
	return nil
}

var (
	errNotRegular = errors.New("it is no regular file; give the path of one with --report")
	errOwnStream  = errors.New("graced's own output goes there; give another file with --report, or none: the log has the same")
	errForeign    = errors.New("it holds a message that graced did not write, which is kept")
)

func openReport(path string, create bool) (*os.File, error) {
	// Asked before it is opened: opening is an act for some devices (a
	// watchdog starts, a tape rewinds).
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; create it, or give another path with --report", bare(err))
	case err != nil:
		return nil, bare(err)
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	flags := os.O_RDWR | syscall.O_NONBLOCK | syscall.O_NOCTTY // if it is a FIFO by now, this does not hang
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%w; graced's user must be able to read and write it", bare(err))
	}
	if err := checkReport(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkReport says why f must not be written to.
func checkReport(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return bare(err)
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	for _, stream := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if own, err := stream.Stat(); err == nil && os.SameFile(info, own) {
			return errOwnStream
		}
	}
	return nil
}

// replaceReport puts report in the place of an earlier one, if that is all
// there is in f. At no instant is there less than one whole report: graced can
// be killed here like anywhere. So one write(2) covers the old text, with
// spaces where the new one is shorter, and only then is the file cut.
func replaceReport(f *os.File, report []byte) error {
	old, err := io.ReadAll(io.NewSectionReader(f, 0, MaxReport+2))
	if err != nil {
		return err
	}
	if len(old) > 0 && !isReport(old) {
		return errForeign
	}
	padded := report
	if n := len(old) - len(report); n > 0 {
		padded = append(bytes.Clone(report), bytes.Repeat([]byte{' '}, n)...)
	}
	if _, err := f.WriteAt(padded, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(report)))
}

// isReport says whether graced wrote all of data. A program that appended to a
// report has made it its own.
func isReport(data []byte) bool {
	return len(data) <= MaxReport+1 && bytes.HasPrefix(data, []byte(reportMark)) && json.Valid(data)
}

// bare takes the path from an error of os, which the message has already.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
