package main

import (
	"crypto/tls"
	"os"
	"strconv"

	"github.com/wneessen/go-mail"
)

type goMail struct{ client *mail.Client }

func openGoMail(trust *tls.Config) (sender, error) {
	port, err := strconv.Atoi(os.Getenv("SMTP_PORT"))
	if err != nil {
		return nil, err
	}
	encryption := mail.WithTLSPortPolicy(mail.TLSMandatory)
	if os.Getenv("SMTP_TLS") == "implicit" {
		encryption = mail.WithSSL()
	}
	client, err := mail.NewClient(os.Getenv("SMTP_HOST"), encryption, mail.WithPort(port), mail.WithTLSConfig(trust),
		mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover),
		mail.WithUsername(os.Getenv("SMTP_USER")), mail.WithPassword(os.Getenv("SMTP_PASSWORD")))
	return goMail{client}, err
}

func (connection goMail) send(message fields) error {
	composed := mail.NewMsg()
	if err := composed.FromFormat(message.From.Name, message.From.Address); err != nil {
		return err
	}
	for add, people := range map[string][]person{"to": message.To, "cc": message.Cc, "bcc": message.Bcc} {
		for _, each := range people {
			adders := map[string]func(string, string) error{
				"to": composed.AddToFormat, "cc": composed.AddCcFormat, "bcc": composed.AddBccFormat}
			if err := adders[add](each.Name, each.Address); err != nil {
				return err
			}
		}
	}
	composed.Subject(message.Subject)
	composed.SetGenHeader("X-Sample", message.Key)
	composed.SetBodyString(mail.TypeTextPlain, message.Text)
	if message.HTML != nil {
		composed.AddAlternativeString(mail.TypeTextHTML, *message.HTML)
	}
	for _, each := range message.Attachments {
		composed.AttachFile(each.Path, mail.WithFileName(each.Filename),
			mail.WithFileContentType(mail.ContentType(each.ContentType)))
	}
	return connection.client.DialAndSend(composed)
}

func (connection goMail) close() error { return nil }
