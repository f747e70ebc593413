package session

// openRath are OpenRath's names of the operations, where it has one.
var openRath = map[Op]string{
	OpAppend: "op_create", OpForward: "op_session_loop", OpFork: "op_fork", OpDetach: "op_detach",
	OpMerge: "op_merge", OpCompress: "op_session_compress",
}

// OpenRath returns OpenRath's lineage kind for a session that the operation made and that
// begins with a chunk of the given kind.
func (o Op) OpenRath(first Kind) string {
	switch kind := openRath[o]; {
	case o == OpLeaf && first == KindSystem:
		return "leaf_system"
	case o == OpLeaf:
		return "leaf_user"
	case kind == "":
		return "unknown"
	default:
		return kind
	}
}

// OpOfOpenRath returns the operation that a lineage kind of OpenRath stands for.
func OpOfOpenRath(kind string) Op {
	if kind == "leaf_user" || kind == "leaf_system" {
		return OpLeaf
	}
	for op, k := range openRath {
		if k == kind {
			return op
		}
	}
	return OpUnknown
}
