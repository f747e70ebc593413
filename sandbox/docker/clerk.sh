# Functions for a shell in a container, which has the rights of commands and no more.
# A status above 100 says what is wrong; with another one, the last line of what comes says
# it, in the words of the C locale.
LC_ALL=C
export LC_ALL
umask 022
cd /
n='
'
not_regular=101 denied=102 not_folder=103 missing=104 looping=105

# resolve [-l] PATH: prints the kind of what an absolute path leads to and its path without
# links; with -l, the last part of the path is not followed.
resolve() {
	keep=
	[ "$1" = -l ] && keep=1 && shift
	todo=$1 at= links=0
	while [ -n "$todo" ]; do
		part=${todo%%/*}
		case $todo in */*) todo=${todo#*/} ;; *) todo= ;; esac
		case $part in
		'' | .) continue ;;
		..) at=${at%/*} && continue ;;
		esac
		if [ -L "$at/$part" ] && ! [ "$keep$todo" = 1 ]; then
			links=$((links + 1))
			[ $links -le 40 ] || return $looping
			to=$(readlink "$at/$part" && echo .) || return 1
			to=${to%??}
			case $to in /*) at= ;; esac
			todo=$to${todo:+/$todo}
		else
			at=$at/$part
		fi
	done
	if [ -L "$at" ]; then kind=l
	elif [ -d "$at" ]; then kind=d
	elif [ -f "$at" ]; then kind=f
	elif [ -e "$at" ]; then kind=o
	else kind=n; fi
	printf %s "$kind$at"
}

describe() { stat -c '%f %s %Y' "$1"; }

identify() { stat -L -c '%d:%i' "$1"; }

# read_file FILE OFFSET MAX: prints a description and a line feed before what it reads.
read_file() {
	describe "$1" || return 1
	[ -f "$1" ] || return $not_regular
	if [ "$3" -lt 0 ]; then tail -c "+$(($2 + 1))" <"$1" || return $denied
	else { tail -c "+$(($2 + 1))" | head -c "$3"; } <"$1" || return $denied; fi
}

# names prints what is in the working folder, each ended by a zero byte.
names() {
	for f in * .*; do
		case $f in . | ..) continue ;; esac
		if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\0' "./$f"; fi
	done
}

# list_folder FOLDER: prints the names in it, a zero byte, and descriptions with names.
list_folder() (
	describe "$1" >/dev/null || return 1
	[ -d "$1" ] || return $not_folder
	cd "$1" 2>/dev/null || return $denied
	ls . >/dev/null || return 1
	names
	printf '\0'
	names | xargs -0 -r stat -c '%f %s %Y %n' 2>/dev/null
	:
)

# write_file FILE SIZE TEMPORARY: replaces a file with so many bytes of standard input.
write_file() {
	mode=644
	if ! [ -e "$1" ]; then
		mkdir -p "${1%/*}" || return 1
	else
		[ -f "$1" ] || return $not_regular
		why=$({ : >>"$1"; } 2>&1)
		case $? in 0) ;; *) case $why in *usy*) ;; *) return $denied ;; esac ;; esac
		mode=$(stat -c %a "$1") || return 1
	fi
	temporary=${1%/*}/$3
	if cat >"$temporary" && [ "$(stat -c %s "$temporary")" = "$2" ] && chmod "$mode" "$temporary" && mv -f "$temporary" "$1"; then return 0; fi
	code=$?
	rm -f "$temporary"
	[ $code -ne 0 ] || code=1
	return $code
}

remove() {
	[ -e "$1" ] || [ -L "$1" ] || { describe "$1" >/dev/null || return 1; }
	rm -rf "$1"
}

find_program() { command -v "$1" >/dev/null || return $missing; }

# marked PROCESS MARK: whether a process has a mark in its environment.
marked() {
	while IFS= read -r text || [ -n "$text" ]; do
		case $text in *"$2"*) return 0 ;; esac
	done 2>/dev/null <"$1/environ"
	return 1
}

# examine PROCESS: finds its state, group and session. Its name, in parentheses, may have
# anything in it.
examine() {
	all=
	while IFS= read -r text || [ -n "$text" ]; do all="$all$text "; done 2>/dev/null <"$1/stat"
	all=${all##*) }
	state=${all%% *} all=${all#* }
	all=${all#* }
	group=${all%% *} all=${all#* }
	session=${all%% *}
	[ -n "$session" ]
}

# end_marked MARK: kills the processes that bear a mark, and all in their sessions, until
# there are none. It needs no program: there may be no room for another process. What is
# killed by its group is killed with what it is forking at the time.
end_marked() {
	sessions=' ' rounds=0
	while [ $rounds -lt 200 ]; do
		rounds=$((rounds + 1)) found=
		for process in /proc/[0-9]*; do
			examine "$process" || continue
			case $state in Z | X) continue ;; esac
			case $sessions in
			*" $session "*) ;;
			*)
				marked "$process" "$1" || continue
				[ "$session" -gt 1 ] && sessions="$sessions$session "
				;;
			esac
			found=1
			[ "$group" -gt 1 ] && kill -9 "-$group" 2>/dev/null
			kill -9 "${process#/proc/}" 2>/dev/null
		done
		[ -n "$found" ] || return 0
	done
	echo "some processes do not end"
	return 1
}

# serve evaluates what it reads, line by line.
serve() {
	while IFS= read -r line; do eval "$line"; done
}
