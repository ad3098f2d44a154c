<?php
// Sends the messages of a file with Symfony Mailer.

use Symfony\Component\Mailer\Transport\Smtp\EsmtpTransport;
use Symfony\Component\Mime\Address;
use Symfony\Component\Mime\Email;

require_once '/usr/share/php/Symfony/Component/Mailer/autoload.php';
require_once '/usr/share/php/Symfony/Component/Mime/autoload.php';

$isImplicit = getenv('SMTP_TLS') === 'implicit';
$transport = new EsmtpTransport(getenv('SMTP_HOST'), (int) getenv('SMTP_PORT'), $isImplicit);
$transport->setUsername(getenv('SMTP_USER'))->setPassword(getenv('SMTP_PASSWORD'));
$transport->getStream()->setStreamOptions(['ssl' => ['cafile' => getenv('SMTP_CA')]]);

$listed = fn (array $people) => array_map(fn ($each) => new Address($each['address'], $each['name']), $people);
foreach (json_decode(file_get_contents($argv[1]), true) as $fields) {
    $email = (new Email())
        ->from(...$listed([$fields['from']]))
        ->to(...$listed($fields['to']))
        ->cc(...$listed($fields['cc']))
        ->bcc(...$listed($fields['bcc']))
        ->subject($fields['subject'])
        ->text($fields['text']);
    $email->getHeaders()->addTextHeader('X-Sample', $fields['key']);
    if ($fields['html'] !== null) {
        $email->html($fields['html']);
    }
    foreach ($fields['attachments'] as $each) {
        $email->attachFromPath($each['path'], $each['filename'], $each['contentType']);
    }
    $transport->send($email);
    echo "sent {$fields['key']}\n";
}
