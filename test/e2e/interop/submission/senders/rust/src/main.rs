// Sends the messages of a file with lettre.

use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, Message, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{SmtpTransport, Transport};
use std::env::{args, var};
use std::error::Error;
use std::fs;

#[derive(serde::Deserialize)]
struct Person {
    name: String,
    address: String,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    filename: String,
    content_type: String,
    path: String,
}

#[derive(serde::Deserialize)]
struct Fields {
    key: String,
    from: Person,
    to: Vec<Person>,
    cc: Vec<Person>,
    bcc: Vec<Person>,
    subject: String,
    text: String,
    html: Option<String>,
    attachments: Vec<File>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let transport = open()?;
    let messages: Vec<Fields> = serde_json::from_str(&fs::read_to_string(args().nth(1).unwrap())?)?;
    for fields in messages {
        transport.send(&compose(&fields)?)?;
        println!("sent {}", fields.key);
    }
    Ok(())
}

fn open() -> Result<SmtpTransport, Box<dyn Error>> {
    let host = var("SMTP_HOST")?;
    let authority = Certificate::from_pem(&fs::read(var("SMTP_CA")?)?)?;
    let parameters = TlsParameters::builder(host.clone()).add_root_certificate(authority).build()?;
    let tls = if var("SMTP_TLS")? == "implicit" { Tls::Wrapper(parameters) } else { Tls::Required(parameters) };
    Ok(SmtpTransport::builder_dangerous(host)
        .port(var("SMTP_PORT")?.parse()?)
        .tls(tls)
        .credentials(Credentials::new(var("SMTP_USER")?, var("SMTP_PASSWORD")?))
        .build())
}

fn compose(fields: &Fields) -> Result<Message, Box<dyn Error>> {
    let mut builder = Message::builder().from(mailbox(&fields.from)?).subject(fields.subject.clone());
    for each in &fields.to {
        builder = builder.to(mailbox(each)?);
    }
    for each in &fields.cc {
        builder = builder.cc(mailbox(each)?);
    }
    for each in &fields.bcc {
        builder = builder.bcc(mailbox(each)?);
    }
    let name = HeaderName::new_from_ascii_str("X-Sample");
    builder = builder.raw_header(HeaderValue::new(name, fields.key.clone()));
    if let Some(html) = &fields.html {
        return Ok(builder.multipart(MultiPart::alternative_plain_html(fields.text.clone(), html.clone()))?);
    }
    if fields.attachments.is_empty() {
        return Ok(builder.singlepart(SinglePart::plain(fields.text.clone()))?);
    }
    let mut parts = MultiPart::mixed().singlepart(SinglePart::plain(fields.text.clone()));
    for each in &fields.attachments {
        let kind = ContentType::parse(&each.content_type)?;
        parts = parts.singlepart(Attachment::new(each.filename.clone()).body(fs::read(&each.path)?, kind));
    }
    Ok(builder.multipart(parts)?)
}

fn mailbox(person: &Person) -> Result<Mailbox, Box<dyn Error>> {
    let name = if person.name.is_empty() { None } else { Some(person.name.clone()) };
    Ok(Mailbox::new(name, person.address.parse()?))
}
