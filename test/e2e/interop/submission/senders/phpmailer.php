<?php
// Sends the messages of a file with PHPMailer, each over a connection of its own, as a page of a website does.

use PHPMailer\PHPMailer\PHPMailer;
use PHPMailer\PHPMailer\SMTP;

foreach (['Exception', 'SMTP', 'PHPMailer'] as $class) {
    require_once "/usr/share/php/libphp-phpmailer/src/$class.php";
}

function send(PHPMailer $mail, array $fields): void
{
    // As its README has it: of a wrong password, its error says only "Could not authenticate".
    $mail->SMTPDebug = SMTP::DEBUG_SERVER;
    $mail->Debugoutput = 'echo';
    $mail->isSMTP();
    $mail->Host = getenv('SMTP_HOST');
    $mail->Port = (int) getenv('SMTP_PORT');
    $mail->SMTPAuth = true;
    $mail->Username = getenv('SMTP_USER');
    $mail->Password = getenv('SMTP_PASSWORD');
    $isImplicit = getenv('SMTP_TLS') === 'implicit';
    $mail->SMTPSecure = $isImplicit ? PHPMailer::ENCRYPTION_SMTPS : PHPMailer::ENCRYPTION_STARTTLS;
    $mail->SMTPOptions = ['ssl' => ['cafile' => getenv('SMTP_CA')]];
    $mail->CharSet = PHPMailer::CHARSET_UTF8;
    $mail->setFrom($fields['from']['address'], $fields['from']['name']);
    foreach ($fields['to'] as $each) {
        $mail->addAddress($each['address'], $each['name']);
    }
    foreach ($fields['cc'] as $each) {
        $mail->addCC($each['address'], $each['name']);
    }
    foreach ($fields['bcc'] as $each) {
        $mail->addBCC($each['address'], $each['name']);
    }
    $mail->addCustomHeader('X-Sample', $fields['key']);
    $mail->Subject = $fields['subject'];
    $mail->Body = $fields['html'] ?? $fields['text'];
    if ($fields['html'] !== null) {
        $mail->isHTML();
        $mail->AltBody = $fields['text'];
    }
    foreach ($fields['attachments'] as $each) {
        $mail->addAttachment($each['path'], $each['filename'], PHPMailer::ENCODING_BASE64, $each['contentType']);
    }
    $mail->send();
}

foreach (json_decode(file_get_contents($argv[1]), true) as $fields) {
    $mail = new PHPMailer(true);
    try {
        send($mail, $fields);
        echo "sent {$fields['key']}\n";
    } catch (Exception $error) {
        fwrite(STDERR, "Message could not be sent. Mailer Error: {$mail->ErrorInfo}\n");
        exit(1);
    }
}
