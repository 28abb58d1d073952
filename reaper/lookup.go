package reaper

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// StartError is why a process was not started.
type StartError struct {
	// Code is the exit code that says so: 127 not found, 126 found but not
	// executable; the shell's, POSIX 2.8.2.
	Code int
	Text string
}

func (e *StartError) Error() string { return e.Text }

// NotStartedCode is the exit code for an error of a start.
func NotStartedCode(err error) int {
	var start *StartError
	if errors.As(err, &start) {
		return start.Code
	}
	return 126
}

// lookPath finds name as execvp(3) does: in the PATH of the environment that
// the program gets, or in /bin and /usr/bin where that has none. The
// first file that can be executed wins; if there is none, the first one that
// is there is the one that the error is about. dir is the working folder
// that the program gets, from which relative elements start.
func lookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", &StartError{127, "cannot run an empty command name"}
	}
	for i := range len(name) {
		if name[i] == '/' {
			return name, nil
		}
	}
	path, set := "/bin:/usr/bin", false
	for _, entry := range env {
		if len(entry) >= 5 && entry[:5] == "PATH=" {
			path, set = entry[5:], true
			break
		}
	}
	found := ""
	for start := 0; start <= len(path); {
		end := start
		for end < len(path) && path[end] != ':' {
			end++
		}
		file := path[start:end] + "/" + name
		if start == end {
			file = "./" + name // an empty element is the working folder
		}
		start = end + 1
		info, err := os.Stat(inDir(dir, file))
		if err != nil {
			continue
		}
		if info.Mode().IsRegular() && unix.Access(inDir(dir, file), unix.X_OK) == nil {
			return file, nil
		}
		if found == "" {
			found = file
		}
	}
	if found != "" {
		return found, nil
	}
	text := "cannot find " + strconv.Quote(name) + " in PATH " + strconv.Quote(path)
	if !set {
		text = "cannot find " + strconv.Quote(name) + " in " + path + ", which are searched because PATH is not set"
	}
	return "", &StartError{127, text + "; give the path of the program"}
}

// inDir is path as the program sees it that works in dir.
func inDir(dir, path string) string {
	if dir == "" || path[0] == '/' {
		return path
	}
	return dir + "/" + path
}
