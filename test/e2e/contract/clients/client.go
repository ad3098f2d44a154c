// oapi-codegen. The file generated.go beside it is generated.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

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

// One address, where there may be a list of them.
func oneTo(address string) (to EmailSend_To) {
	if err := to.FromEmailSendTo0(EmailSendTo0(address)); err != nil {
		panic(err)
	}
	return to
}

func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-API-Key", os.Getenv("POMBO_KEY"))
		return nil
	}
	pombo := must(NewClientWithResponses(os.Getenv("POMBO_URL"), WithRequestEditorFn(withKey)))

	one := EmailSend{From: sender, To: oneTo(to), Subject: "One", Html: of("<p>Olá")}
	sent := must(pombo.SendEmailWithResponse(ctx, nil, one))
	check(sent.JSON202 != nil && sent.JSON202.Data.Status == "queued", "send", string(sent.Body))
	id := sent.JSON202.Data.Id

	both := EmailBatch{}
	for _, subject := range []string{"Two", "Three"} {
		both.Emails = append(both.Emails, EmailSend{From: sender, To: oneTo(to), Subject: subject, Text: of("x")})
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

	host := strings.Split(to, "@")[1]
	inDays := func(days int) time.Time { return time.Now().UTC().Truncate(time.Second).AddDate(0, 0, days) }
	whole := EmailSend{
		From: sender, Subject: "Whole", Text: of("{{unsubscribe_url}}"),
		Cc: &EmailSend_Cc{}, Bcc: &EmailSend_Bcc{}, ReplyTo: &EmailSend_ReplyTo{},
		Headers:     &map[string]string{"X-Order": "4711"},
		Attachments: &[]AttachmentSend{{Filename: "recibo.txt", Content: []byte("Recibo")}},
		Tag:         of("receipt"),
		Metadata:    &map[string]string{"order": "4711"},
		Unsubscribe: &UnsubscribeSend{List: of("news")},
		SendAt:      of(inDays(1)),
	}
	for _, err := range []error{
		whole.To.FromEmailSendTo1(EmailSendTo1{"Ana <ana@" + host + ">", "rui@" + host}),
		whole.Cc.FromEmailSendCc0("contas@" + host),
		whole.Bcc.FromEmailSendBcc1(EmailSendBcc1{"arquivo@" + host}),
		whole.ReplyTo.FromEmailSendReplyTo1(EmailSendReplyTo1{"Ajuda <ajuda@" + host + ">", "outra@" + host}),
	} {
		if err != nil {
			panic(err)
		}
	}
	group := must(pombo.SendEmailWithResponse(ctx, nil, whole))
	kinds := []string{}
	for _, one := range *group.JSON202.Data.Recipients {
		kinds = append(kinds, string(one.Kind))
	}
	check(group.JSON202.Data.Status == "scheduled" && strings.Join(kinds, " ") == "to to cc bcc", "group", string(group.Body))
	id = group.JSON202.Data.Id

	later := inDays(2)
	moved := must(pombo.UpdateEmailWithResponse(ctx, id, nil, EmailChange{SendAt: later}))
	check(moved.JSON200 != nil && moved.JSON200.Data.SendAt.Equal(later), "change", string(moved.Body))

	record := must(pombo.GetEmailWithResponse(ctx, id)).JSON200.Data
	isWhole := *record.GroupId == id && *record.ToName == "Ana" && len(*record.Recipients) == 4 && len(*record.ReplyToAll) == 2
	hasOwn := (*record.Headers)["X-Order"] == "4711" && (*record.Metadata)["order"] == "4711" && *record.Tag == "receipt"
	check(isWhole && hasOwn && *record.Unsubscribe.List == "news" && record.Attachments[0].Bytes == 6, "record", record)

	file := must(pombo.GetEmailAttachmentWithResponse(ctx, id, "0"))
	check(string(file.Body) == "Recibo", "file", string(file.Body))
	grouped := must(pombo.ListEmailsWithResponse(ctx, &ListEmailsParams{Tag: of("receipt"), GroupId: &id}))
	check(grouped.JSON200.Meta.Total == 4, "filters", string(grouped.Body))
	must(pombo.CreateSuppressionWithResponse(ctx, SuppressionCreate{Address: "ana@" + host, List: of("news")}))
	suppressed := must(pombo.ListSuppressionsWithResponse(ctx, nil))
	isListed := false
	for _, one := range suppressed.JSON200.Data {
		isListed = isListed || one.Address == "ana@"+host && one.List != nil && *one.List == "news"
	}
	check(isListed, "list", string(suppressed.Body))
	canceled := must(pombo.CancelEmailWithResponse(ctx, id, &CancelEmailParams{Group: of(CancelEmailParamsGroupTrue)}))
	isCanceled := true
	for _, one := range *canceled.JSON200.Data.Recipients {
		isCanceled = isCanceled && one.Status == "canceled"
	}
	check(isCanceled, "cancel", string(canceled.Body))

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
	check(sms.JSON200.Data.Body != nil && *sms.JSON200.Data.Body == to && sms.JSON200.Data.Segments == 1, "sms", string(sms.Body))

	one.From = "a@unverified.example"
	refused := must(pombo.SendEmailWithResponse(ctx, nil, one))
	check(refused.JSON422 != nil, "error", string(refused.Body))
	fault := refused.JSON422.Errors[0]
	if fault.Code != "VALIDATION_ERROR" || fault.Field == nil || *fault.Field != "from" {
		panic(string(refused.Body))
	}
}
