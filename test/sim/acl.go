package sim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/resources"
)

const (
	operatorUser    = credentials.OperatorUser
	replicationUser = credentials.ReplicationUser
)

// aclUser is an ACL user, as far as logging in goes.
type aclUser struct {
	on     bool
	hashes []string
}

func (u *aclUser) admits(password string) bool {
	return u != nil && u.on && slices.Contains(u.hashes, hashOf(password))
}

// bootUsers are the users in the ACL file that a container starts with now; replication is off there.
func bootUsers(s *store) map[string]*aclUser {
	users := map[string]*aclUser{}
	secret, _ := s.get(objectKey{"Secret", resources.SecretName(key.Name)}).(*corev1.Secret)
	if secret == nil {
		return users
	}
	for line := range strings.Lines(string(secret.Data[resources.SecretKeyUsers])) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "user" {
			users[words[1]] = (&aclUser{}).changed(words[2:])
		}
	}
	return users
}

// changed is a user after ACL SETUSER with these rules.
func (u *aclUser) changed(rules []string) *aclUser {
	next := &aclUser{u.on, slices.Clone(u.hashes)}
	for _, rule := range rules {
		switch {
		case rule == "reset":
			*next = aclUser{}
		case rule == "resetpass":
			next.hashes = nil
		case rule == "on":
			next.on = true
		case rule == "off":
			next.on = false
		case strings.HasPrefix(rule, "#"):
			next.hashes = append(next.hashes, rule[1:])
		case strings.HasPrefix(rule, ">"):
			next.hashes = append(next.hashes, hashOf(rule[1:]))
		case strings.HasPrefix(rule, "!"):
			next.hashes = slices.DeleteFunc(next.hashes, func(h string) bool { return h == rule[1:] })
		case strings.HasPrefix(rule, "<"):
			next.hashes = slices.DeleteFunc(next.hashes, func(h string) bool { return h == hashOf(rule[1:]) })
		}
	}
	return next
}

// setUser is ACL SETUSER: all rules or none. Connections that are logged in stay so, and so do the links of replicas.
func (p *process) setUser(name string, rules []string) string {
	user := p.users[name]
	if user == nil {
		user = &aclUser{}
	}
	p.users[name] = user.changed(rules)
	p.world.checkOnePrimary()
	return ok
}

func hashOf(password string) string { return resources.PasswordHash(password) }
