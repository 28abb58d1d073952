package config

// Usage is the help of graced run: a screen of 80 columns and 24 lines.
func Usage() string { return usage }

const usage = `Usage: graced [run] [flags] -- COMMAND [ARG...]
       graced [run] [flags] --config FILE [-- COMMAND [ARG...]]

  --platform NAME    kubernetes, docker…    --signal SIG        its stop signal
  --grace DUR        the platform's         --stop LADDER       all of them
  --grace-spent DUR  used before a signal   --stop-signals LIST what is a stop
  --margin DUR       of it, never used      --repeat MODE       ignore, escalate
  --cleanup DUR      for hooks, report      --target WHO        process group…
  --delay DUR|auto   before the drain       --rewrite FROM=TO   USR1=HUP, USR2=
  --drain MODE       auto idle closed off   --exit-code FROM=TO 143=0, stopped=0
  --drain-max DUR    at most                --user USER[:GROUP] of the command
  --ready HOW        listening, started     --report FILE       how a stop went
  --listen ADDR|off  probes, metrics :8990  --log-format FORMAT text, json
  --socket PATH|off  for graced drain…      --log-level LEVEL   debug info warn
  -c, --config FILE  /etc/graced.hcl        -h, --help          this

Each flag is a variable too: --grace 30s is GRACED_GRACE=30s. The flag wins.
With the same flags "graced plan" prints the shutdown, second by second, and
"graced check" says what is wrong. Also: graced health, graced version; --help.

  graced -- nginx -g 'daemon off;'
  graced --grace 30s --delay 5s -- gunicorn --bind :8000 app:api
  graced --stop SIGQUIT:20s,SIGTERM:5s --exit-code 143=0 -- php-fpm -F
`
