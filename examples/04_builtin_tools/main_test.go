package main

func Example() {
	main()
	// Output:
	// read_workspace_file read_only
	// list_workspace_files read_only
	// workspace_path_exists read_only
	// find_workspace_files read_only
	// search_workspace read_only
	// write_workspace_file idempotent
	// edit_workspace_file mutating
	// run_shell_command mutating
	// run_code mutating
	// I wrote 10 bytes to list.txt.
	// to do: tea
	// "tea" is on 1 line:
	// list.txt:1: to do: tea
	// 1 match of *.txt in .:
	// list.txt
	// 10
}
