package credentials_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/redis-operator/internal/credentials"
)

func TestPasswordsAreDerivedFromTheSeed(t *testing.T) {
	one, other := credentials.NewStore(), credentials.NewStore()
	seed := []byte("0123456789abcdef0123456789abcdef")
	one.Remember("r", seed)
	other.Remember("r", seed)
	other.Remember("q", []byte("another"))

	assert.Equal(t, one.OperatorPassword("r", 0), other.OperatorPassword("r", 0), "two operators with one seed know the same passwords")
	assert.Equal(t, one.ReplicationPassword("r", 7), other.ReplicationPassword("r", 7))
	all := map[string]bool{}
	for _, password := range []string{
		other.OperatorPassword("r", 0), other.OperatorPassword("q", 0), other.ReplicationPassword("r", 1), other.ReplicationPassword("r", 2),
		other.ReplicationPassword("q", 1),
	} {
		assert.GreaterOrEqual(t, len(password), 32)
		all[password] = true
	}
	assert.Len(t, all, 5, "each user, epoch and resource has its own")
}

func TestASeedIsMadeOnceAndForgotten(t *testing.T) {
	store := credentials.NewStore()
	assert.False(t, store.Known("r"))
	first, second := store.SeedOrNew("r"), store.SeedOrNew("r")
	assert.Len(t, first, 32)
	assert.NotEqual(t, first, second, "one that was not written is not remembered")
	assert.False(t, store.Known("r"))

	store.Remember("r", first)
	assert.True(t, store.Known("r"))
	assert.Equal(t, first, store.SeedOrNew("r"), "the seed of a deleted Secret is used again: running nodes know its passwords")
	store.Forget("r")
	assert.False(t, store.Known("r"))
}
