// openapi-generator for Java, with its own choice of library. The package org.openapitools.client is generated.
import java.io.File;
import java.nio.file.Files;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.EmailsApi;
import org.openapitools.client.api.SmsApi;
import org.openapitools.client.api.SuppressionsApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.AttachmentSend;
import org.openapitools.client.model.EmailBatch;
import org.openapitools.client.model.EmailChange;
import org.openapitools.client.model.EmailSend;
import org.openapitools.client.model.EmailSendBcc;
import org.openapitools.client.model.EmailSendCc;
import org.openapitools.client.model.EmailSendReplyTo;
import org.openapitools.client.model.EmailSendTo;
import org.openapitools.client.model.Errors;
import org.openapitools.client.model.SmsSend;
import org.openapitools.client.model.SuppressionCreate;
import org.openapitools.client.model.UnsubscribeSend;
import org.openapitools.client.model.WebhookCreate;

public class Client {
  static final String FROM = System.getenv("POMBO_FROM");
  static final String TO = System.getenv("POMBO_TO");

  static void check(boolean holds, String step, Object seen) {
    if (!holds) throw new IllegalStateException(step + ": " + seen);
    System.out.println("step: " + step);
  }

  static EmailSend email(String from, String subject) {
    return new EmailSend().from(from).to(new EmailSendTo(TO)).subject(subject);
  }

  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("POMBO_URL"));
    client.setApiKey(System.getenv("POMBO_KEY"));
    EmailsApi emails = new EmailsApi(client);
    SmsApi texts = new SmsApi(client);
    WebhooksApi webhooks = new WebhooksApi(client);

    var sent = emails.sendEmail(email(FROM, "One").html("<p>Olá"), null, null).getData();
    check(sent.getStatus().getValue().equals("queued"), "send", sent);
    var both = List.of(email(FROM, "Two").text("x"), email(FROM, "Three").text("x"));
    var batch = emails.sendEmailBatch(new EmailBatch().emails(both), null, null).getData();
    check(batch.size() == 2, "batch", batch);

    var read = emails.getEmail(sent.getId()).getData();
    check(read.getSubject().equals("One") && read.getBounce() == null, "read", read);
    var first = emails.listEmails(1, 2, null, TO, null, null, null, null, null, null, null, null, null, "status");
    var second = emails.listEmails(2, 2, null, TO, null, null, null, null, null, null, null, null, null, "status");
    check(first.getMeta().getTotal() == 3 && second.getData().get(0).getId().equals(sent.getId()), "pages", second);

    String host = TO.split("@")[1];
    var now = OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS);
    var whole = new EmailSend().from(FROM).subject("Whole").text("{{unsubscribe_url}}")
        // The generator's code for Gson cannot write the other choice, a list of strings: its template takes it for a primitive.
        .to(new EmailSendTo("Ana <ana@" + host + ">"))
        .cc(new EmailSendCc("contas@" + host))
        .bcc(new EmailSendBcc("arquivo@" + host))
        .replyTo(new EmailSendReplyTo("Ajuda <ajuda@" + host + ">"))
        .putHeadersItem("X-Order", "4711")
        .addAttachmentsItem(new AttachmentSend().filename("recibo.txt").content("Recibo".getBytes("UTF-8")))
        .tag("receipt")
        .putMetadataItem("order", "4711")
        .unsubscribe(new UnsubscribeSend()._list("news"))
        .sendAt(now.plusDays(1));
    var group = emails.sendEmail(whole, null, null).getData();
    String kinds = group.getRecipients().stream().map(one -> one.getKind().getValue()).collect(Collectors.joining(" "));
    check(group.getStatus().getValue().equals("scheduled") && kinds.equals("to cc bcc"), "group", group);

    var moved = emails.updateEmail(group.getId(), new EmailChange().sendAt(now.plusDays(2)), null).getData();
    check(moved.getSendAt().isEqual(now.plusDays(2)), "change", moved);

    var record = emails.getEmail(group.getId()).getData();
    boolean isWhole = record.getGroupId().equals(group.getId()) && record.getToName().equals("Ana")
        && record.getRecipients().size() == 3 && record.getReplyToAll().size() == 1;
    boolean hasOwn = record.getHeaders().get("X-Order").equals("4711")
        && record.getMetadata().get("order").equals("4711") && record.getTag().equals("receipt")
        && record.getUnsubscribe().getList().equals("news") && record.getAttachments().get(0).getBytes() == 6;
    check(isWhole && hasOwn, "record", record);

    File file = emails.getEmailAttachment(group.getId(), "0");
    check(Files.readString(file.toPath()).equals("Recibo"), "file", file);
    file.delete();
    var grouped = emails.listEmails(null, null, null, null, null, "receipt", group.getId(), null, null, null, null, null, null, null);
    check(grouped.getMeta().getTotal() == 3, "filters", grouped);
    SuppressionsApi suppressions = new SuppressionsApi(client);
    suppressions.createSuppression(new SuppressionCreate().address("ana@" + host)._list("news"));
    var suppressed = suppressions.listSuppressions(null, null, null, null, null, null);
    check(suppressed.getData().stream()
        .anyMatch(one -> one.getAddress().equals("ana@" + host) && "news".equals(one.getList())), "list", suppressed);
    var canceled = emails.cancelEmail(group.getId(), "true").getData();
    check(canceled.getRecipients().stream().allMatch(one -> one.getStatus().getValue().equals("canceled")), "cancel", canceled);

    List<UUID> made = new ArrayList<>();
    List<String> urls = new ArrayList<>();
    for (String name : List.of("a", "b")) {
      var hook = new WebhookCreate()
          .url(java.net.URI.create("https://" + name + "." + TO.split("@")[1] + "/hook"))
          .addEventsItem(WebhookCreate.EventsEnum.EMAIL_DELIVERED);
      var webhook = webhooks.createWebhook(hook).getData();
      made.add(webhook.getId());
      urls.add(webhook.getUrl());
    }
    List<String> found = new ArrayList<>();
    String cursor = null;
    do {
      var hooks = webhooks.listWebhooks(cursor, 1);
      for (var hook : hooks.getData()) found.add(hook.getUrl());
      cursor = hooks.getMeta().getNextCursor();
    } while (cursor != null);
    check(found.containsAll(urls), "cursor", found);
    check(webhooks.deleteWebhook(made.get(0)).getData().getDeleted(), "webhook", made);

    var text = texts.sendSms(new SmsSend().to("+258841234567").body(TO), null, null).getData();
    var sms = texts.getSms(text.getId()).getData();
    check(sms.getBody().equals(TO) && sms.getSegments() == 1, "sms", sms);

    try {
      emails.sendEmail(email("a@unverified.example", "x").text("x"), null, null);
      check(false, "error", "it was taken");
    } catch (ApiException refused) {
      var fault = Errors.fromJson(refused.getResponseBody()).getErrors().get(0);
      boolean isRead = fault.getCode().getValue().equals("VALIDATION_ERROR") && fault.getField().equals("from");
      check(refused.getCode() == 422 && isRead, "error", fault);
    }
    System.exit(0);
  }
}
