<?php
// Sends the messages of a file with SwiftMailer, which is not maintained any more and still in use.

error_reporting(E_ALL & ~E_DEPRECATED);
require_once '/usr/share/php/Egulias/EmailValidator/autoload.php';
require_once '/usr/share/php/Swift/swift_required.php';

$encryption = getenv('SMTP_TLS') === 'implicit' ? 'ssl' : 'tls';
$transport = (new Swift_SmtpTransport(getenv('SMTP_HOST'), (int) getenv('SMTP_PORT'), $encryption))
    ->setUsername(getenv('SMTP_USER'))
    ->setPassword(getenv('SMTP_PASSWORD'))
    ->setStreamOptions(['ssl' => ['cafile' => getenv('SMTP_CA')]]);
$mailer = new Swift_Mailer($transport);

$listed = function (array $people): array {
    $names = [];
    foreach ($people as $each) {
        $names[$each['address']] = $each['name'] === '' ? null : $each['name'];
    }
    return $names;
};
foreach (json_decode(file_get_contents($argv[1]), true) as $fields) {
    $message = (new Swift_Message($fields['subject'], $fields['text']))
        ->setFrom($listed([$fields['from']]))
        ->setTo($listed($fields['to']))
        ->setCc($listed($fields['cc']))
        ->setBcc($listed($fields['bcc']));
    $message->getHeaders()->addTextHeader('X-Sample', $fields['key']);
    if ($fields['html'] !== null) {
        $message->addPart($fields['html'], 'text/html');
    }
    foreach ($fields['attachments'] as $each) {
        $file = Swift_Attachment::fromPath($each['path'], $each['contentType'])->setFilename($each['filename']);
        $message->attach($file);
    }
    $mailer->send($message);
    echo "sent {$fields['key']}\n";
}
