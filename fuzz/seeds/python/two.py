print "hello"
except E, e:
