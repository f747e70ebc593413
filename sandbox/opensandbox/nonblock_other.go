//go:build !unix

package opensandbox

const nonblock = 0
