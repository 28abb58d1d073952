// Package drain knows which inbound TCP connections of the processes are busy,
// without being in their way: it asks the kernel.
//
// The kernel tells of every socket of the network namespace, to anybody and
// without a privilege, by NETLINK_SOCK_DIAG (sock_diag(7)): its state, its
// queues, whether it was accepted, and, in its tcp_info (tcp(7)), when a byte
// last came and went. That decides nearly every HTTP/1 connection; the table in
// rules.go says how. What tcp_info leaves open, a request and an answer within
// one tick of the kernel's clock, the pingpong bit of /proc/net/tcp decides.
//
// A [Looker] looks; a [Census] is what it saw. Whose connections they are is
// decided by local port: those that the processes listen on, or listened on
// since the Looker was made (see [Scope]).
//
// # Limits
//
// The kernel sees bytes, not requests. Judged idle although busy: HTTP/2 with a
// slow stream while another answers, a WebSocket or an event stream that is
// quiet for longer than [Rules.Quiet] with the server having spoken last, a
// streamed answer with pauses longer than that, "100 Continue" with a body that
// comes later than that, pipelined requests. For these there is [UntilClosed].
// Judged busy although idle, which costs time and loses nothing: whatever ends
// with a word of the client. A connection over a UNIX socket is not seen.
//
// Where the kernel refuses socket diagnostics, /proc/net/tcp and /proc/net/tcp6
// serve. They have no clocks, so a connection is judged by how long its line
// has not changed, and a request that takes longer than [Rules.Unsure] is lost
// sight of.
package drain
