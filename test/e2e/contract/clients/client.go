// oapi-codegen. The file generated.go beside it is generated.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	openapi_types "github.com/oapi-codegen/runtime/types"
)

var sender, to = os.Getenv("POMBO_FROM"), os.Getenv("POMBO_TO")

func check(holds bool, step string, seen any) {
	if !holds {
		panic(fmt.Sprintf("%s: %+v", step, seen))
	}
	fmt.Println("step: " + step)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func of[T any](value T) *T { return &value }

func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-API-Key", os.Getenv("POMBO_KEY"))
		return nil
	}
	pombo := must(NewClientWithResponses(os.Getenv("POMBO_URL"), WithRequestEditorFn(withKey)))

	one := EmailSend{From: sender, To: openapi_types.Email(to), Subject: "One", Html: of("<p>Olá")}
	sent := must(pombo.SendEmailWithResponse(ctx, nil, one))
	check(sent.JSON202 != nil && sent.JSON202.Data.Status == "queued", "send", string(sent.Body))
	id := sent.JSON202.Data.Id

	both := EmailBatch{}
	for _, subject := range []string{"Two", "Three"} {
		both.Emails = append(both.Emails, EmailSend{From: sender, To: openapi_types.Email(to), Subject: subject, Text: of("x")})
	}
	batch := must(pombo.SendEmailBatchWithResponse(ctx, nil, both))
	check(batch.JSON202 != nil && len(batch.JSON202.Data) == 2, "batch", string(batch.Body))

	read := must(pombo.GetEmailWithResponse(ctx, id))
	check(read.JSON200 != nil && read.JSON200.Data.Subject == "One" && read.JSON200.Data.Bounce == nil, "read", string(read.Body))

	page := func(number int) *ListEmailsResponse {
		return must(pombo.ListEmailsWithResponse(ctx, &ListEmailsParams{To: of(openapi_types.Email(to)), Page: &number, Limit: of(2)}))
	}
	first, second := page(1), page(2)
	check(first.JSON200.Meta.Total == 3 && second.JSON200.Data[0].Id == id, "pages", string(second.Body))

	var made []*CreateWebhookResponse
	left := map[string]bool{}
	for _, name := range []string{"a", "b"} {
		url := "https://" + name + "." + strings.Split(to, "@")[1] + "/hook"
		left[url] = true
		hook := WebhookCreate{Url: url, Events: []WebhookCreateEvents{"email.delivered"}}
		made = append(made, must(pombo.CreateWebhookWithResponse(ctx, hook)))
	}
	var cursor *string
	for {
		hooks := must(pombo.ListWebhooksWithResponse(ctx, &ListWebhooksParams{Cursor: cursor, Limit: of(1)}))
		for _, hook := range hooks.JSON200.Data {
			delete(left, hook.Url)
		}
		if cursor = hooks.JSON200.Meta.NextCursor; cursor == nil {
			break
		}
	}
	check(len(left) == 0, "cursor", left)
	gone := must(pombo.DeleteWebhookWithResponse(ctx, made[0].JSON201.Data.Id))
	check(gone.JSON200 != nil && gone.JSON200.Data.Deleted, "webhook", string(gone.Body))

	text := must(pombo.SendSmsWithResponse(ctx, nil, SmsSend{To: "+258841234567", Body: to}))
	sms := must(pombo.GetSmsWithResponse(ctx, text.JSON202.Data.Id))
	check(sms.JSON200.Data.Body == to && sms.JSON200.Data.Segments == 1, "sms", string(sms.Body))

	one.From = "a@unverified.example"
	refused := must(pombo.SendEmailWithResponse(ctx, nil, one))
	check(refused.JSON422 != nil, "error", string(refused.Body))
	fault := refused.JSON422.Errors[0]
	if fault.Code != "VALIDATION_ERROR" || fault.Field == nil || *fault.Field != "from" {
		panic(string(refused.Body))
	}
}
