BBBBBBB BBBBBBBBBBBBBBBBBBBBBBBBBBBB
BBBB BBBB BBBBBBBBBBBB
BBBBB BBBBB
XXX gettext(u'%(requester)s asks for %(ask)s %(currency)s for %(title)s (%(reference)s, version %(version)s, project %(project)s). You may decide it.') SSSSSSSSSSSSS SSSS SSS SSSSSSS SSSSSSSSSSSS SSS SSSSSSSSS SSSSSSSSSSSSSSS SSSSSSS SSSSSSSSSSSS SSSSSSS SSSSSSSSSSSSS SSS SSS SSSSSS SSSXXXX
XXXBB BBBBBBBBB gettext(u'It reaches you because nobody else decided it in time, or nobody else may.') BBBBBXXXX
BBBBBBBB
