// Legacy is a server as there are many: it works, and it has never heard of
// SIGTERM. Whatever it is answering when the signal comes is lost.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"
)

func main() {
	listen := flag.String("listen", ":8080", "where it answers")
	flag.Parse()

	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(200 * time.Millisecond) // some work
		fmt.Fprintln(w, "hello")
	})
	http.HandleFunc("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "40960")
		for range 40 {
			fmt.Fprint(w, strings.Repeat("0123456789abcde\n", 64))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
