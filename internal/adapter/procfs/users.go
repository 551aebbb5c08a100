// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"os"
	"os/user"
	"strconv"
	"sync"
	"time"
)

// users names user ids: from the passwd file, or else by asking the system,
// which knows directory services too. Answers are kept for 10 minutes.
type users struct {
	path string

	mu     sync.Mutex
	readAt time.Time
	names  map[int]string
}

const usersKept = 10 * time.Minute

// name is the user's name, "" where names are not wanted or it has none.
func (u *users) name(uid int, now time.Time) string {
	if u.path == "" {
		return ""
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil || now.Sub(u.readAt) > usersKept {
		u.readAt = now
		text, _ := os.ReadFile(u.path) // unreadable: the system is asked
		u.names = parsePasswd(text)
	}
	name, ok := u.names[uid]
	if !ok {
		name = lookUp(uid)
		u.names[uid] = name
	}
	return name
}

// lookUp asks the system for a name. A directory service that does not answer
// within a second leaves the user without one.
func lookUp(uid int) string {
	found := make(chan string, 1)
	go func() {
		defer close(found)
		if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
			found <- u.Username
		}
	}()
	wait := time.NewTimer(time.Second)
	defer wait.Stop()
	select {
	case name := <-found:
		return name
	case <-wait.C:
		return ""
	}
}

// parsePasswd maps ids to names; of several names for an id the first counts.
func parsePasswd(text []byte) map[int]string {
	names := map[int]string{}
	for line := range bytes.Lines(text) {
		fields := bytes.Split(line, []byte{':'})
		if len(fields) < 4 {
			continue
		}
		uid, err := strconv.Atoi(string(fields[2]))
		if err != nil {
			continue
		}
		if _, ok := names[uid]; !ok {
			names[uid] = string(fields[0])
		}
	}
	return names
}
