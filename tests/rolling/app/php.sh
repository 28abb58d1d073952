#!/bin/sh
# php.sh FOLDER: the start script of many PHP images. php-fpm goes into the
# background, nginx is the program.
php-fpm8.2 --daemonize --allow-to-run-as-root --fpm-config "$1/php-fpm.conf" || exit 1
exec nginx -p "$1" -e "$1/error.log" -c "$1/nginx.conf" -g 'daemon off;'
