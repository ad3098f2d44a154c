// Sends the messages of a file with one of Go's mail libraries: submit net/smtp|go-mail FILE
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"os"
)

type person struct{ Name, Address string }

type attachment struct{ Filename, ContentType, Path string }

type fields struct {
	Key         string
	From        person
	To, Cc, Bcc []person
	Subject     string
	Text        string
	HTML        *string
	Attachments []attachment
}

type sender interface {
	send(message fields) error
	close() error
}

func main() {
	log.SetFlags(0)
	pem, err := os.ReadFile(os.Getenv("SMTP_CA"))
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	trust := &tls.Config{RootCAs: roots, ServerName: os.Getenv("SMTP_HOST")}

	open := map[string]func(*tls.Config) (sender, error){"net/smtp": openNetSMTP, "go-mail": openGoMail}[os.Args[1]]
	connection, err := open(trust)
	check(err)
	text, err := os.ReadFile(os.Args[2])
	check(err)
	var messages []fields
	check(json.Unmarshal(text, &messages))
	for _, message := range messages {
		check(connection.send(message))
		fmt.Println("sent", message.Key)
	}
	check(connection.close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
