package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxFile is the greatest file that is read, in bytes. A configuration has a
// page or two; something greater is another file.
const MaxFile = 1 << 20

// ReadRegular reads a regular file of at most MaxFile bytes; see ReadUpTo.
func ReadRegular(path string) ([]byte, error) { return ReadUpTo(path, MaxFile) }

// ReadUpTo reads a regular file of at most so many bytes. It never blocks:
// a FIFO that nobody writes to, a terminal or a device is refused, and so is a
// file that grows without end.
func ReadUpTo(path string, most int64) ([]byte, error) {
	// O_NONBLOCK: opening a FIFO for reading waits for a writer otherwise.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, errors.New("it is a folder, not a file")
	case mode.Type() == fs.ModeNamedPipe:
		return nil, errors.New("it is a named pipe (FIFO), not a regular file")
	case !mode.IsRegular():
		return nil, errors.New("it is a device or a socket, not a regular file")
	case info.Size() > most:
		return nil, tooLarge(info.Size(), most)
	}
	// Not ReadAll of the whole: files of /proc and /sys say that they have 0 bytes.
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = tooLarge(int64(len(data)), most)
	}
	return data, err
}

func tooLarge(size, most int64) error {
	return fmt.Errorf("it has %d bytes; the most is %d (%d MiB)", size, most, most>>20)
}

// brief is an error without the path, which the message has already.
func brief(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}
