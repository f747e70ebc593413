package workspace

// permissions merges those that git does not know of: those of ours, of theirs if only
// theirs changed them, and a conflict if both did.
func (m *merger) permissions() {
	for p, e := range m.tree {
		if m.conflicts[p] != nil || !e.isFile() && !e.isDir() {
			continue
		}
		mode, ok := m.perm(p, e.mode&typeMask)
		if !ok {
			c := m.conflict(p, Permissions)
			c.Base, c.Ours, c.Theirs = m.base[p].export(), m.ours[p].export(), m.theirs[p].export()
		}
		if mode != 0 {
			m.tree[p] = entry{mode, e.id}
		}
	}
	m.lostPermissions()
}

// perm merges the mode of a path, of those sides that have something of its type there.
func (m *merger) perm(p string, kind uint32) (mode uint32, ok bool) {
	of := func(t tree) uint32 {
		if e := t[p]; e.mode&typeMask == kind {
			return e.mode
		}
		return 0
	}
	base, ours, theirs := of(m.base), of(m.ours), of(m.theirs)
	switch {
	case ours == theirs, theirs == 0:
		return ours, true
	case ours == 0:
		return theirs, true
	case ours == base:
		return theirs, true
	case theirs == base:
		return ours, true
	}
	return ours, false
}

// lostPermissions finds files that one side gave permissions git does not know of, and
// the other deleted: git sees a deletion and nothing else.
func (m *merger) lostPermissions() {
	for p, b := range m.base {
		o, inOurs := m.ours[p]
		t, inTheirs := m.theirs[p]
		if _, stays := m.tree[p]; stays || inOurs == inTheirs || m.conflicts[p] != nil || !b.isFile() {
			continue
		}
		left := o
		if inTheirs {
			left = t
		}
		if left.isFile() && left.mode != b.mode {
			c := m.conflict(p, ModifyDelete)
			c.Base, c.Ours, c.Theirs = b.export(), o.export(), t.export()
			if inOurs {
				m.tree[p] = o
				m.tree.addParents(p)
			}
		}
	}
}

// directories adds those that are empty: one that both have, or that one side made.
func (m *merger) directories() {
	for _, t := range []tree{m.ours, m.theirs} {
		for p, e := range t {
			if _, there := m.tree[p]; there || !e.isDir() || !m.keepsDir(p) {
				continue
			}
			mode, ok := m.perm(p, typeDir)
			if !ok {
				c := m.conflict(p, Permissions)
				c.Base, c.Ours, c.Theirs = m.base[p].export(), m.ours[p].export(), m.theirs[p].export()
			}
			m.tree[p] = entry{mode: mode}
		}
	}
	for p := range m.tree {
		m.tree.addParents(p)
	}
}

// keepsDir merges whether there is a directory, and leaves it out below a file.
func (m *merger) keepsDir(p string) bool {
	base, ours, theirs := m.base[p].isDir(), m.ours[p].isDir(), m.theirs[p].isDir()
	if ours != theirs && base {
		return false
	}
	for d := parent(p); d != ""; d = parent(d) {
		if e, ok := m.tree[d]; ok && !e.isDir() {
			return false
		}
	}
	return true
}
