package main

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"time"
)

// As much of RFC 6455 as an exchange of two words needs: the server says hello,
// is quiet for as long as it was asked to, says goodbye and closes.

const (
	socketKey  = "cm9sbGluZyByZXBsYWNlIQ==" // the client's nonce; any will do
	socketGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	hello, bye = "hello", "goodbye"
)

const (
	finalText  = 0x81
	finalClose = 0x88
)

func serveSocket(w http.ResponseWriter, r *http.Request, quiet time.Duration) {
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer c.Close()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + socketGUID))
	fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	writeFrame(buffered.Writer, finalText, hello)
	if buffered.Flush() != nil {
		return
	}
	time.Sleep(quiet)
	writeFrame(buffered.Writer, finalText, bye)
	writeFrame(buffered.Writer, finalClose, "")
	_ = buffered.Flush() // the client misses it
}

// writeFrame writes a server's frame: without a mask, shorter than 126 bytes.
func writeFrame(w *bufio.Writer, kind byte, text string) {
	_ = w.WriteByte(kind) // an error stays in the writer
	_ = w.WriteByte(byte(len(text)))
	_, _ = w.WriteString(text)
}

// readSocket reads the server's words up to the closing frame.
func readSocket(r *bufio.Reader) error {
	for _, want := range []string{hello, bye, ""} {
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return fmt.Errorf("waiting for %q: %w", want, err)
		}
		text := make([]byte, head[1])
		if _, err := io.ReadFull(r, text); err != nil {
			return fmt.Errorf("reading %q: %w", want, err)
		}
		if string(text) != want {
			return fmt.Errorf("got %q, not %q", text, want)
		}
	}
	return nil
}
