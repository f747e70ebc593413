package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// size is a number of bytes as a flag.
type size int64

const units = "KMGT"

func (s *size) Set(text string) error {
	number, shift := strings.ToUpper(text), 0
	if n := len(number); n > 0 {
		if unit := strings.IndexByte(units, number[n-1]); unit >= 0 {
			number, shift = number[:n-1], 10*(unit+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)>>shift {
		return errors.New("it is no size such as 512M or 2G")
	}
	*s = size(n << shift)
	return nil
}

func (s *size) String() string {
	n, unit := int64(*s), ""
	for i := 0; n > 0 && n%1024 == 0 && i < len(units); i++ {
		n, unit = n/1024, units[i:i+1]
	}
	return fmt.Sprint(n) + unit
}

// Type is the word for it in the help.
func (*size) Type() string { return "size" }
