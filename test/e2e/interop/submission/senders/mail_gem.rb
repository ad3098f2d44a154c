# Sends the messages of a file with Ruby's mail.

require 'json'
require 'mail'

implicit = ENV['SMTP_TLS'] == 'implicit'
settings = {
  address: ENV['SMTP_HOST'], port: ENV['SMTP_PORT'].to_i, authentication: :plain,
  user_name: ENV['SMTP_USER'], password: ENV['SMTP_PASSWORD'],
  tls: implicit, enable_starttls: !implicit, ca_file: ENV['SMTP_CA'], openssl_verify_mode: 'peer'
}
Mail.defaults { delivery_method :smtp, settings }

def listed(people)
  people.map { |each| Mail::Address.new(each['address']).tap { |it| it.display_name = each['name'] unless each['name'].empty? }.encoded }
end

JSON.parse(File.read(ARGV[0], encoding: 'UTF-8')).each do |fields|
  mail = Mail.new(charset: 'UTF-8')
  mail.from = listed([fields['from']])
  %w[to cc bcc].each { |name| mail[name] = listed(fields[name]) unless fields[name].empty? }
  mail.subject = fields['subject']
  mail['X-Sample'] = fields['key']
  if fields['html'].nil? && fields['attachments'].empty?
    mail.body = fields['text']
  else
    mail.text_part = Mail::Part.new { content_type 'text/plain; charset=UTF-8'; body fields['text'] }
    unless fields['html'].nil?
      mail.html_part = Mail::Part.new { content_type 'text/html; charset=UTF-8'; body fields['html'] }
    end
    fields['attachments'].each do |each|
      mail.attachments[each['filename']] = { mime_type: each['contentType'], content: File.binread(each['path']) }
    end
  end
  mail.deliver!
  puts "sent #{fields['key']}"
end
