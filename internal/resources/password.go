package resources

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Derive makes the password of one of the operator's own users in one generation from the resource's random seed.
// So a new operator knows all passwords without any of them being stored, and one password tells nothing of the next.
func Derive(seed []byte, user string, generation int64) string {
	mac := hmac.New(sha256.New, seed)
	mac.Write([]byte(user + "|" + strconv.FormatInt(generation, 10)))
	return hex.EncodeToString(mac.Sum(nil))
}

// PasswordHash is how an ACL file holds a password.
func PasswordHash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}
