package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// A client of its own, since net/http repeats some requests by itself when a
// pooled connection breaks. This one never does: a request is sent once.

// The ways in which a request ends, beside the HTTP status of an error.
const (
	endOK        = "ok"
	endRefused   = "refused"   // no connection could be made
	endReset     = "reset"     // closed or reset before an answer came
	endTruncated = "truncated" // the answer broke off
	endTimeout   = "timeout"   // no whole answer within the limit
	endWrong     = "wrong"     // an answer with the wrong content
	endNowhere   = "no server" // the edge had nowhere to send it
	serverHeader = "X-Server"  // the balancer names the server in it
	connectLimit = time.Second // as of an edge
	restOfBody   = 5 * time.Millisecond
)

// exchange sends a request to addr and tells how that ended, and which server
// the balancer says it had it from.
func (p *pool) exchange(addr string, q request, limit time.Duration) (end, server string, err error) {
	deadline := time.Now().Add(limit)
	var c *conn
	if !q.fresh && q.kind != kindSocket {
		c = p.get(addr)
	}
	if c == nil {
		raw, err := net.DialTimeout("tcp", addr, connectLimit)
		if err != nil {
			return endRefused, "", err
		}
		c = &conn{TCPConn: raw.(*net.TCPConn), reader: bufio.NewReader(raw)}
	}
	keep := false
	defer func() {
		if keep {
			p.put(addr, c)
		} else {
			c.Close()
		}
	}()
	if err := c.SetDeadline(deadline); err != nil {
		return endReset, "", err
	}
	writeErr := c.send(q)
	// even when the write broke, an answer (such as a 503) may be there to read
	resp, err := http.ReadResponse(c.reader, &http.Request{Method: q.method})
	if err != nil {
		if isTimeout(err) {
			return endTimeout, "", err
		}
		return endReset, "", errors.Join(writeErr, err)
	}
	server = resp.Header.Get(serverHeader)
	if q.kind == kindSocket && resp.StatusCode == http.StatusSwitchingProtocols {
		if err := readSocket(c.reader); err != nil {
			return endTruncated, server, err
		}
		return endOK, server, nil
	}
	text, err := io.ReadAll(resp.Body)
	switch {
	case isTimeout(err):
		return endTimeout, server, err
	case err != nil:
		return endTruncated, server, err
	case resp.StatusCode != http.StatusOK:
		return fmt.Sprint(resp.StatusCode), server, fmt.Errorf("status %s", resp.Status)
	case q.want != "" && string(text) != q.want:
		return endWrong, server, fmt.Errorf("the answer is %.40q, not %q", text, q.want)
	case q.wantLen > 0 && len(text) != q.wantLen:
		// an answer without a length, or cut at the end of a chunk
		return endTruncated, server, fmt.Errorf("the answer has %d bytes of %d", len(text), q.wantLen)
	}
	keep = !q.fresh && !resp.Close
	return endOK, server, nil
}

// send writes the request. A body is sent in two halves with a pause, so that
// it can be under way when something happens.
func (c *conn) send(q request) error {
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: rolling\r\n", q.method, q.path)
	switch {
	case q.kind == kindSocket:
		head.WriteString("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + socketKey + "\r\n")
	case q.fresh:
		head.WriteString("Connection: close\r\n")
	}
	if q.body > 0 {
		fmt.Fprintf(&head, "Content-Length: %d\r\n", q.body)
	}
	head.WriteString("\r\n")
	if _, err := c.Write(head.Bytes()); err != nil || q.body == 0 {
		return err
	}
	half := q.body / 2
	if _, err := c.Write(make([]byte, half)); err != nil {
		return err
	}
	time.Sleep(restOfBody)
	_, err := c.Write(make([]byte, q.body-half))
	return err
}

// conn is a connection of the client.
type conn struct {
	*net.TCPConn
	reader *bufio.Reader
	idle   time.Time // since when
}

// closedByPeer looks for an end that waits on an idle connection, as every
// careful pool does before it uses one again.
func (c *conn) closedByPeer() bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	closed := true
	_ = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		// anything but "nothing there yet" makes it unusable
		closed = n >= 0 || !errors.Is(err, syscall.EAGAIN)
		return true
	})
	return closed
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || (errors.As(err, &ne) && ne.Timeout())
}
