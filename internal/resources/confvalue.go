package resources

import "strings"

// configValue is a value as redis.conf needs it. What the user writes is already in the syntax of redis.conf ("60 1000" are
// two arguments, "\"a b\"" is one), with two exceptions where Redis would refuse the whole file: nothing at all, and quotes
// that do not pair, as in "it's". These become one quoted argument.
func configValue(value string) string {
	value = strings.TrimSpace(value)
	if value != "" && quotesPair(value) {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// quotesPair tells whether Redis can split the value into arguments (sdssplitargs in its sds.c): a quote opens anywhere, is
// closed by the same quote, and only a blank or the end may follow. Within double quotes a backslash escapes the next
// character; within single quotes it escapes only a single quote.
func quotesPair(value string) bool {
	var open byte
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case open == 0 && (c == '"' || c == '\''):
			open = c
		case open != 0 && c == '\\' && i+1 < len(value) && (open == '"' || value[i+1] == '\''):
			i++
		case open != 0 && c == open:
			if i+1 < len(value) && value[i+1] != ' ' {
				return false
			}
			open = 0
		}
	}
	return open == 0
}
