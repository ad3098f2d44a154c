module submit

go 1.25.0

require github.com/wneessen/go-mail v0.7.3

require golang.org/x/text v0.37.0 // indirect
