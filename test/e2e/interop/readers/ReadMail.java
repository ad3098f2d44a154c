// Reads messages with Angus Mail and prints them as JSON, one a line. The arguments: names of fields, "--", files.

import jakarta.mail.Address;
import jakarta.mail.Message;
import jakarta.mail.Multipart;
import jakarta.mail.Part;
import jakarta.mail.Session;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeMessage;
import jakarta.mail.internet.MimePart;
import jakarta.mail.internet.MimeUtility;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;

public class ReadMail {
  public static void main(String[] args) throws Exception {
    var arguments = Arrays.asList(args);
    var ownFields = arguments.subList(0, arguments.indexOf("--"));
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (var path : arguments.subList(ownFields.size() + 1, args.length)) {
      try (InputStream file = new FileInputStream(path)) {
        out.println(read(new MimeMessage(Session.getInstance(new Properties()), file), ownFields));
      }
    }
  }

  static String read(MimeMessage message, List<String> ownFields) throws Exception {
    var headers = new ArrayList<String>();
    for (var name : ownFields) {
      var values = message.getHeader(name);
      headers.add(values == null ? "null" : quote(MimeUtility.decodeText(MimeUtility.unfold(values[0]))));
    }
    List<Part> leaves = new ArrayList<>();
    collect(message, leaves);
    String text = null;
    String html = null;
    var attachments = new ArrayList<String>();
    for (var part : leaves) {
      if (part.getDisposition() != null) attachments.add(attachment((MimePart) part));
      else if (part.isMimeType("text/plain")) text = (String) part.getContent();
      else if (part.isMimeType("text/html")) html = (String) part.getContent();
    }
    return "{\"subject\":" + quote(message.getSubject())
        + ",\"from\":" + addresses(message.getFrom())
        + ",\"to\":" + addresses(message.getRecipients(Message.RecipientType.TO))
        + ",\"cc\":" + addresses(message.getRecipients(Message.RecipientType.CC))
        // getReplyTo gives From where there is none.
        + ",\"replyTo\":" + (message.getHeader("Reply-To") == null ? "[]" : addresses(message.getReplyTo()))
        + ",\"headers\":" + headers
        + ",\"text\":" + quote(text)
        + ",\"html\":" + quote(html)
        + ",\"attachments\":" + attachments + "}";
  }

  static void collect(Part part, List<Part> leaves) throws Exception {
    if (part.getContent() instanceof Multipart parts && part.isMimeType("multipart/*")) {
      for (int i = 0; i < parts.getCount(); i++) collect(parts.getBodyPart(i), leaves);
    } else leaves.add(part);
  }

  static String attachment(MimePart part) throws Exception {
    var id = part.getContentID();
    byte[] content = part.getInputStream().readAllBytes();
    var digest = MessageDigest.getInstance("SHA-256").digest(content);
    return "{\"filename\":" + quote(part.getFileName())
        + ",\"contentType\":" + quote(part.getContentType().replaceAll("(?s);.*", "").toLowerCase())
        + ",\"contentId\":" + quote(id == null ? null : id.replaceAll("^<|>$", ""))
        + ",\"isInline\":" + part.getDisposition().equals(Part.INLINE)
        + ",\"sha256\":" + quote(HexFormat.of().formatHex(digest)) + "}";
  }

  static String addresses(Address[] list) {
    var written = new ArrayList<String>();
    for (var each : list == null ? new Address[0] : list) {
      var address = (InternetAddress) each;
      var name = address.getPersonal() == null ? "" : address.getPersonal();
      written.add("{\"name\":" + quote(name) + ",\"address\":" + quote(address.getAddress()) + "}");
    }
    return written.toString();
  }

  static String quote(String text) {
    if (text == null) return "null";
    var json = new StringBuilder("\"");
    for (char unit : text.toCharArray()) {
      if (unit < 0x20 || unit > 0x7e || unit == '"' || unit == '\\') json.append(String.format("\\u%04x", (int) unit));
      else json.append(unit);
    }
    return json.append('"').toString();
  }
}
