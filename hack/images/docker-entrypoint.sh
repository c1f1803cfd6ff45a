#!/bin/sh
# What the official images do: options or a configuration file alone mean the server, and root hands over to its user.
set -e

case $1 in
-* | *.conf) set -- @server@ "$@" ;;
esac

case $1 in
redis-server | @server@)
	if [ "$(id -u)" = 0 ]; then
		find . \! -user @user@ -exec chown @user@:@user@ '{}' +
		exec su -s /bin/sh -- @user@ -c 'exec "$@"' sh "$0" "$@"
	fi
	;;
esac

# Unless someone set it on purpose: what the server writes is for nobody else.
if [ "$(umask)" = 0022 ]; then umask 0077; fi

exec "$@"
