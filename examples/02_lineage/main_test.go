package main

func Example() {
	main()
	// Output:
	// 0 user A name for a tea shop?
	// 1 assistant Leaf & Thunder
	// 2 assistant The Quiet Cup
	// * 06000000  merge  3 chunks  2026-05-04 12:00:06
	// |\
	// * | 03000000  forward  bold  2 chunks  25 tokens  $0.000000  2026-05-04 12:00:03
	// * | 02000000  fork  1 chunk  2026-05-04 12:00:02
	// | * 05000000  forward  calm  2 chunks  25 tokens  $0.000000  2026-05-04 12:00:05
	// | * 04000000  fork  1 chunk  2026-05-04 12:00:04
	// |/
	// * 01000000  append  1 chunk  2026-05-04 12:00:01
	// 6 sessions, 50 tokens, each counted once
	// detached: 1 session, the same transcript: true
	// exported: 5 lines; read again, the same: true
}
