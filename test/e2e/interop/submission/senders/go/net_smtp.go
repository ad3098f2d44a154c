package main

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"os"
	"strings"
	"time"
)

type netSMTP struct{ client *smtp.Client }

func openNetSMTP(trust *tls.Config) (sender, error) {
	host, place := os.Getenv("SMTP_HOST"), os.Getenv("SMTP_HOST")+":"+os.Getenv("SMTP_PORT")
	client, err := dial(host, place, trust)
	if err != nil {
		return nil, err
	}
	return netSMTP{client}, client.Auth(smtp.PlainAuth("", os.Getenv("SMTP_USER"), os.Getenv("SMTP_PASSWORD"), host))
}

func dial(host, place string, trust *tls.Config) (*smtp.Client, error) {
	if os.Getenv("SMTP_TLS") == "implicit" {
		connection, err := tls.Dial("tcp", place, trust)
		if err != nil {
			return nil, err
		}
		return smtp.NewClient(connection, host)
	}
	client, err := smtp.Dial(place)
	if err != nil {
		return nil, err
	}
	return client, client.StartTLS(trust)
}

func (connection netSMTP) send(message fields) error {
	if err := connection.client.Mail(message.From.Address); err != nil {
		return err
	}
	for _, people := range [][]person{message.To, message.Cc, message.Bcc} {
		for _, each := range people {
			if err := connection.client.Rcpt(each.Address); err != nil {
				return err
			}
		}
	}
	composed, err := compose(message)
	if err != nil {
		return err
	}
	data, err := connection.client.Data()
	if err != nil {
		return err
	}
	if _, err = data.Write(composed); err != nil {
		return err
	}
	return data.Close()
}

func (connection netSMTP) close() error { return connection.client.Quit() }

// As programs write it by hand: no Message-ID, and texts as they are, 8 bits wide.
func compose(message fields) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "From: %s\r\n", listed([]person{message.From}))
	fmt.Fprintf(&out, "To: %s\r\n", listed(message.To))
	if len(message.Cc) > 0 {
		fmt.Fprintf(&out, "Cc: %s\r\n", listed(message.Cc))
	}
	fmt.Fprintf(&out, "Subject: %s\r\n", mime.QEncoding.Encode("utf-8", message.Subject))
	fmt.Fprintf(&out, "Date: %s\r\nX-Sample: %s\r\nMIME-Version: 1.0\r\n", time.Now().Format(time.RFC1123Z), message.Key)
	if message.HTML == nil && len(message.Attachments) == 0 {
		fmt.Fprintf(&out, "Content-Type: text/plain; charset=utf-8\r\n\r\n%s", lines(message.Text))
		return out.Bytes(), nil
	}
	parts := multipart.NewWriter(&out)
	kind := "mixed"
	if message.HTML != nil {
		kind = "alternative"
	}
	fmt.Fprintf(&out, "Content-Type: multipart/%s; boundary=%s\r\n\r\n", kind, parts.Boundary())
	texts := []struct{ kind, text string }{{"plain", message.Text}}
	if message.HTML != nil {
		texts = append(texts, struct{ kind, text string }{"html", *message.HTML})
	}
	for _, each := range texts {
		header := textproto.MIMEHeader{"Content-Type": {"text/" + each.kind + "; charset=utf-8"}}
		header.Set("Content-Transfer-Encoding", "8bit")
		part, err := parts.CreatePart(header)
		if err != nil {
			return nil, err
		}
		fmt.Fprint(part, lines(each.text))
	}
	for _, each := range message.Attachments {
		if err := attach(parts, each); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), parts.Close()
}

func attach(parts *multipart.Writer, file attachment) error {
	content, err := os.ReadFile(file.Path)
	if err != nil {
		return err
	}
	header := textproto.MIMEHeader{"Content-Type": {file.ContentType}, "Content-Transfer-Encoding": {"base64"}}
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Filename}))
	part, err := parts.CreatePart(header)
	if err != nil {
		return err
	}
	for text := base64.StdEncoding.EncodeToString(content); text != ""; {
		line := text[:min(76, len(text))]
		text = text[len(line):]
		fmt.Fprintf(part, "%s\r\n", line)
	}
	return nil
}

func listed(people []person) string {
	written := []string{}
	for _, each := range people {
		written = append(written, (&mail.Address{Name: each.Name, Address: each.Address}).String())
	}
	return strings.Join(written, ", ")
}

func lines(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
