package session

import "github.com/openrath-go/rath/sandbox"

// Head is a session without its content: what lists and graphs need of it. The zero
// Head is the empty session's.
type Head struct {
	ID        ID                `json:"id"`
	Digest    Digest            `json:"digest"`
	Len       int               `json:"len"` // chunks
	Lineage   Lineage           `json:"lineage"`
	Usage     Usage             `json:"usage"`
	Placement sandbox.Placement `json:"placement,omitzero"`
}

// Head returns the session without its content. It computes the digest.
func (s Session) Head() Head {
	return Head{s.ID(), s.Digest(), s.Len(), s.Lineage(), s.Usage(), s.Placement()}
}
