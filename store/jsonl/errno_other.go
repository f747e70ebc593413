//go:build !unix

package jsonl

import "io/fs"

var errReadOnly = fs.ErrPermission
