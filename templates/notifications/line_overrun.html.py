BBBBBBB BBBBBBBBBBBBBBBBBBBBBBBBBBBB
BBBB BBBB BBBBBBBBBBBB
BBBBB BBBBB
XXX gettext(u'%(line)s of %(project)s (%(start)s to %(end)s): %(value)s %(currency)s, against %(limit)s %(currency)s.') SSSSSSSS SS SSSSSSSSSSS SSSSSSSSSS SS SSSSSSSSS SSSSSSSSS SSSSSSSSSSSSS SSSSSSS SSSSSSSSS SSSSSSSSSSSSSXXXX
BB BBBBBBBBBBXXX gettext(u'Some cost is not known yet, so the true figure is at least this.') XXXXBBBBB
XXX gettext(u'State the cause. A retrospective is opened for it.') XXXX
BBBBBBBB
