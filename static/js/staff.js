// The pages of staff show times of their zone: the server reads it from this cookie (apps/http/staff_zone.py).
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
if (zone && !document.cookie.split('; ').includes(`zone=${zone}`)) {
  const secure = location.protocol === 'https:' ? '; secure' : ''
  document.cookie = `zone=${zone}; path=/admin/; max-age=31536000; samesite=lax${secure}`
}
